import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import type { AcceptRunRequest } from '@agent-workflow/protos/threads';
import { placeOf } from '../history/checkpoints.ts';
import type { ThreadHistory } from '../ports/history.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { ThreadKey } from '../ports/record.ts';
import { fromJson, toJson } from '../record/json.ts';
import { goesOn } from '../runs/retry.ts';

interface Options {
  readonly goesOn?: true;
  readonly initialState?: Readonly<Record<string, unknown>>;
  readonly removes?: readonly string[];
}

/**
 * A request that goes on behind the input of a run, with the fields of that input under its own: no step had written them there. Where that
 * run began, this one begins, too. Any other stays as it is, and one from a checkpoint that is not kept, or that has these fields.
 */
export async function withInputFields(
  store: ThreadReads & ThreadHistory,
  key: ThreadKey,
  request: AcceptRunRequest,
  checkpointId: string,
): Promise<AcceptRunRequest> {
  if (!goesOn({ options: request.optionsJson })) return request;
  const place = await undefinedIfNotFound(placeOf(store, key, checkpointId));
  if (!place || place.isBefore) return request;
  const { source, runId, step, next } = place.row;
  if (source !== 'input' || runId === undefined || step !== undefined) return request;
  const begun = await store.getRun(key.owner, runId);
  // Input that was refused is of no checkpoint.
  const left = begun && !begun.input ? (fromJson(begun.options) as Options) : {};
  const { goesOn: _, ...own } = fromJson(request.optionsJson) as Options;
  const removes = [...(left.removes ?? []), ...(own.removes ?? [])];
  const given = {
    ...{ ...own, initialState: { ...left.initialState, ...own.initialState } },
    ...(removes.length > 0 && { removes }),
  };
  if (next.length > 0) return { ...request, optionsJson: toJson({ ...given, goesOn: true }) };
  return { ...request, hasNewInput: true, optionsJson: toJson(given) };
}
