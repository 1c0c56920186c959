import { subjectPrefix } from './streams.ts';

/** The subject of heartbeats: of each worker, and below the token of its pool for those that belong to one. */
export const aliveSubject = (prefix: string): string => `${subjectPrefix(prefix)}alive`;

/** The subjects of stops: of each run, and once more below the agent for workers that may receive no others. */
export const controlSubject = (prefix: string): string => `${subjectPrefix(prefix)}control`;

/** The subject of what workers drive: below it the agent and the worker. */
export const drivenSubject = (prefix: string): string => `${subjectPrefix(prefix)}driven`;
