import { userIdOf } from '@agent-workflow/kit/ids';
import type { Answerer } from '@agent-workflow/protos/answerer';
import type { RunRecord } from '../ports/record.ts';
import { fromJson } from './json.ts';

/** Whether others than the owner have let a run go on. */
export function isAnsweredByOthers(owner: string, { options }: Pick<RunRecord, 'options'>): boolean {
  if (!Buffer.from(options.buffer, options.byteOffset, options.byteLength).includes('"answeredBy":')) return false;
  const { answeredBy = [] } = fromJson(options) as { readonly answeredBy?: readonly Answerer[] };
  return answeredBy.some(({ by }) => by !== (userIdOf(owner) ?? owner));
}
