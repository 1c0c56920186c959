import type { Setting } from '@agent-workflow/kit/env';

const secretLength = 32;

/** What the gateway and the workers of a service seal with: addresses of files, and what a run may do with files. */
export const filesSecret: Setting<readonly [string, ...string[]] | undefined> = {
  doc: `What addresses of files, and what workers may do with files, are sealed with: the same for all replicas of gateway and execution, at least ${String(secretLength)} characters; several, separated by commas, while it is changed: the first seals, each opens. Unset, the standalone process makes one and keeps it in \`DATA_DIR\``,
  fallback: undefined,
  secret: true,
  read: (given) => {
    const [first = '', ...more] = given.split(',').map((secret) => secret.trim());
    return [first, ...more].every(({ length }) => length >= secretLength)
      ? [first, ...more]
      : { problem: `must be secrets of at least ${String(secretLength)} characters, separated by commas` };
  },
};
