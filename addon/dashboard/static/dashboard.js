// Replaces the live part of a page by what the server sends. Without it, the page is loaded again by hand.
"use strict";
const part = document.querySelector("[data-live]");
const state = document.getElementById("state");
if (part) {
  const source = new EventSource(part.dataset.live);
  source.onopen = () => { state.textContent = "Live: this page follows the proxy."; };
  source.onerror = () => { state.textContent = "The proxy does not answer; trying again."; };
  source.onmessage = (event) => {
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
  };
}
