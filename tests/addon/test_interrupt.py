import signal
import subprocess
import sys

from bestbefore.addon.interrupt import importing


def test_an_interrupt_is_not_lost_in_what_imports_call_back() -> None:
    script = """if True:
        import os, signal, weakref
        from bestbefore.addon.interrupt import importing
        class Module: pass
        with importing():
            module = Module()
            callback = weakref.ref(module, lambda _: os.kill(os.getpid(), signal.SIGINT))
            del module
        print("the import goes on")
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_afterwards_an_interrupt_is_an_exception_again_and_an_ignored_one_stays_ignored() -> None:
    for before in (signal.SIG_IGN, signal.default_int_handler):
        installed = signal.signal(signal.SIGINT, before)
        try:
            with importing():
                assert (signal.getsignal(signal.SIGINT) is before) == (before is signal.SIG_IGN)
            assert signal.getsignal(signal.SIGINT) is before
        finally:
            signal.signal(signal.SIGINT, installed)
