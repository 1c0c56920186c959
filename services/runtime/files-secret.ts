import { rotatedSecrets, secretLength } from './rotated-secrets.ts';

/** What the gateway and the workers of a service seal with: addresses of files, and what a run may do with files. */
export const filesSecret = rotatedSecrets(
  `What addresses of files, and what workers may do with files, are sealed with: the same for all replicas of gateway and execution, workers of pools excepted, at least ${String(secretLength)} characters; several, separated by commas, while it is changed: the first seals, each opens. Unset, the standalone process makes one and keeps it in \`DATA_DIR\``,
);
