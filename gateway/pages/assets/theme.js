// Puts the theme on the page before it is drawn: the one that the reader has chosen here or in the playground.
try {
  document.documentElement.dataset.theme = localStorage.getItem('theme') ?? 'system';
} catch {
  // A browser that keeps nothing has the theme of the computer.
}
