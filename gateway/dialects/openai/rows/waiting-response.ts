import { isOpen } from '@agent-workflow/protos/lists';
import type { Run } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { addressesOf } from '../../common/file-addresses.ts';
import { answersHere, askedBy, behindAnswers } from '../../common/questions.ts';
import { endOfRun } from '../../common/run-end.ts';
import type { Services } from '../../common/services.ts';
import { resultIn } from '../out/run-result.ts';
import { toResponse, type ResponseFacts } from '../out/response.ts';

type Reading = Pick<EndpointRequest, 'owner' | 'roles' | 'call' | 'origin'>;
type Reads = Pick<Services, 'threads' | 'execution' | 'config' | 'files' | 'access'>;

/** A run in the background asks others alone: its caller has nothing to answer, and polls until they have. */
const isForOthers = (run: Run, { owner, roles }: Reading, { access }: Pick<Services, 'access'>): boolean => {
  const asked = run.status === 'interrupted' ? askedBy(run) : [];
  const caller = { owner, ...(roles && { roles }) };
  return asked.length > 0 && asked.every((one) => !answersHere(access, caller, { node: '', ...one, agent: run.agent }));
};

/**
 * Where a response in the background stands that asked others: `text` while it goes on, with what is asked, else the run to which their answers have led.
 */
export async function behindOthers(
  reading: Reading,
  facts: ResponseFacts & { readonly run: Run },
  services: Reads,
): Promise<{ readonly text: string } | { readonly run: Run }> {
  const { run } = facts;
  if (facts.kept.body['background'] !== true || !isForOthers(run, reading, services)) return { run };
  const { threads } = services;
  const last = await behindAnswers(run, reading, { threads });
  if (isOpen(last.status)) return { text: JSON.stringify(toResponse(facts, { status: 'in_progress' })) };
  if (!isForOthers(last, reading, services)) return { run: last };
  const { owner, call } = reading;
  const { runId, threadId } = last;
  const { waitsFor, runId: newest } = await threads.getThread({ owner, threadId }, call());
  // What was dropped, or passed over, nobody answers any more.
  const status = waitsFor === 'answer' && newest === runId ? 'in_progress' : 'cancelled';
  const end = await endOfRun({ owner, call, runId, threadId }, services);
  const result = resultIn(end, addressesOf(reading, services));
  return { text: JSON.stringify(toResponse(facts, { status, ...(!('failure' in result) && { result }) })) };
}
