import { subjectPrefix } from './names.ts';
import { hashOfPool, type Pool } from './pools.ts';

/** The subject of heartbeats: of each worker, and below the token of its pool for those that belong to one. */
export const aliveSubject = (prefix: string): string => `${subjectPrefix(prefix)}alive`;

/** The subjects of stops: of each run, and once more below the agent for workers that may receive no others. */
export const controlSubject = (prefix: string): string => `${subjectPrefix(prefix)}control`;

/** The subject of what workers drive: below it the agent and the worker. */
export const drivenSubject = (prefix: string): string => `${subjectPrefix(prefix)}driven`;

/** The roll call of workers: those that hold leases answer it with them. */
export const rollCallSubject = (prefix: string): string => `${subjectPrefix(prefix)}rollcall.agents`;

/** Where calls for the workers of a pool are sent; below it is the subject of each call that one of them has taken. */
export const subjectOfPool = (prefix: string, pool: Pool): string => `${subjectPrefix(prefix)}code.${hashOfPool(pool)}`;
