import { signal } from '@preact/signals';

/** The thread whose dialog of shares is open. */
export const sharing = signal<string | undefined>(undefined);
