import { listForObject } from '../../http/body.ts';
import type { Refusal } from '../../http/dialect.ts';

/** Whether a body of JSON-RPC was refused because it is a list, as batches are. */
export const isBatch = ({ details }: Pick<Refusal, 'details'>): boolean => details?.[0]?.type === listForObject;

/** What is said of one. */
export const noBatches = 'the body must be one JSON object: batches are not taken';
