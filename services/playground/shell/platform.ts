/** Whether the keyboard has ⌘ in place of Ctrl. */
export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);
