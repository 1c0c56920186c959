import { signal } from '@preact/signals';

/** Whether the palette is open. */
export const isPaletteOpen = signal(false);

/** Whether the dialog is open that lists the shortcuts. */
export const isKeyTableOpen = signal(false);
