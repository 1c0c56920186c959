import { effect, signal } from '@preact/signals';

/** The themes of the page; `system` follows the one of the computer. */
export const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

/** Where the choice is kept, for all tabs of this browser. */
const themeKey = 'theme';

/** The theme that the reader has chosen. */
export const theme = signal<Theme>(themes.find((known) => known === localStorage.getItem(themeKey)) ?? 'system');

/** Puts the theme on the root of the page and keeps it, now and whenever it changes. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value;
    if (theme.value === 'system') localStorage.removeItem(themeKey);
    else localStorage.setItem(themeKey, theme.value);
  });
}
