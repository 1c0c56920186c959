import { parentPort, workerData } from 'node:worker_threads';
import { damageOf } from './file-damage.ts';
import type { IntegrityCheck, IntegrityReply } from './integrity.ts';

/** The thread that `integrity.ts` makes: it reads one file, replies and ends. */
const { path } = workerData as IntegrityCheck;
parentPort?.postMessage({ damage: damageOf(path) } satisfies IntegrityReply);
