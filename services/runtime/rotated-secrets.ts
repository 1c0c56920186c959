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

/** What the gateway and the workers of a service seal with: addresses of files, and what a run may do with files. */
export const filesSecret = rotatedSecrets(
  `What addresses of files, and what workers may do with files, are sealed with: the same for all replicas of gateway and execution, workers of pools excepted, at least ${String(secretLength)} characters; several, separated by commas, while it is changed: the first seals, each opens. Unset, the standalone process makes one and keeps it in \`DATA_DIR\``,
);
