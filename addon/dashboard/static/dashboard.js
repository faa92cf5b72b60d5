// Replaces the live part of a page by what the server sends. Without it, the page is loaded again by hand.
"use strict";
const part = document.querySelector("[data-live]");
const state = document.getElementById("state");
// A hidden page is not sent anything, except that of requests, since requests are kept only while it follows.
const leaves = part && !part.dataset.live.startsWith("/live?page=/requests&");
let source = null;

function show(event) {
  const held = document.activeElement;
  if (part.contains(held) && held !== document.body && /INPUT|SELECT|BUTTON/.test(held.tagName)) return;
  const focused = part.contains(held) && held.href ? held.getAttribute("href") : null;
  const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  // The server has escaped all that comes from the web, and the policy of the page forbids scripts in it.
  part.innerHTML = JSON.parse(event.data);
  part.querySelectorAll(".scroll").forEach((one, i) => { one.scrollLeft = scrolled[i] || 0; });
  if (focused) {
    const same = [...part.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused);
    if (same) same.focus();
  }
}

function follow() {
  if (source) source.close();
  source = new EventSource(part.dataset.live);
  source.onopen = () => { state.textContent = "Live: this page follows the proxy."; };
  source.onerror = () => {
    // A browser tries again by itself after a lost connection, and not after a refusal.
    state.textContent = source.readyState === EventSource.CLOSED
      ? "Not live: the proxy refuses to send changes. Load the page again." : "The proxy does not answer; trying again.";
  };
  source.onmessage = show;
}

if (part) {
  if (!leaves || !document.hidden) follow();
  if (leaves) {
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden) follow();
      else if (source) source.close();
    });
  }
}
