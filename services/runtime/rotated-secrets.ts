import type { Setting } from '@agent-workflow/kit/env';

/** Characters that a secret has at least. */
export const secretLength = 32;

/** Secrets of one use, separated by commas: the first is used for what is new, each for what is there. */
export const rotatedSecrets = (doc: string): Setting<readonly [string, ...string[]] | undefined> => ({
  doc,
  fallback: undefined,
  secret: true,
  read: (given) => {
    const [first = '', ...more] = given.split(',').map((secret) => secret.trim());
    return [first, ...more].every(({ length }) => length >= secretLength)
      ? [first, ...more]
      : { problem: `must be secrets of at least ${String(secretLength)} characters, separated by commas` };
  },
});
