import { processEnv } from '@agent-workflow/kit/env';

/** Messages of a long log, and threads of one owner: 20,000 times `SCALE`, which is 1 unless set. */
export const large = 20_000 * Number(processEnv()['SCALE'] ?? '1');
