/** The text that the measured agent emits. */
export const marker = 'one-emitted-text';
