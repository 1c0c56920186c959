import type { AcceptRunRequest } from '@agent-workflow/protos/threads';
import type { Head, RunRecord, ThreadKey } from '../ports/record.ts';
import { agentOf } from '../record/head.ts';
import { fromJson, toJson } from '../record/json.ts';

/** What of the run that asked is none of a run that goes on. */
interface AskedOptions {
  readonly resume?: unknown;
  readonly passed?: unknown;
  readonly differ?: unknown;
  readonly differing?: unknown;
  readonly answeredBy?: unknown;
  readonly answers?: unknown;
  readonly mayAnswer?: unknown;
  readonly accepted?: unknown;
  readonly request?: unknown;
  readonly share?: unknown;
  readonly [name: string]: unknown;
}

interface GoingOn {
  readonly head: Head;
  /** The run that asked; of a fork, one of the thread that it was forked from. */
  readonly asking: Pick<RunRecord, 'options' | 'granularity' | 'webhook' | 'priority'>;
  readonly runId: string;
  readonly requestId: string;
  /** The questions that it answers. */
  readonly keys: readonly string[];
  /** What it brings in its options. */
  readonly given: object;
}

/** The run that goes on with answers, and with what the caller of the interrupted one gave it: its config, its user, its tools, and where its end is sent to. */
export function acceptanceAsAsked({ owner, threadId }: ThreadKey, going: GoingOn): AcceptRunRequest {
  const { head, asking, runId, requestId, keys, given } = going;
  const agent = agentOf(head);
  const {
    resume: _,
    passed: _passed,
    differ: _differ,
    differing: _differing,
    answeredBy: _by,
    answers: _answers,
    mayAnswer: _may,
    accepted: _accepted,
    request: _request,
    share: _share,
    ...options
  } = fromJson(asking.options) as AskedOptions;
  return {
    ...{ owner, threadId, runId, requestId },
    ...{ messages: [], answers: [], hasNewInput: false, mayAnswer: [] },
    optionsJson: toJson({ ...options, initialState: {}, ...given }),
    multitaskStrategy: 'reject',
    granularity: asking.granularity,
    resume: { keys },
    ...(asking.webhook === undefined ? {} : { webhookJson: asking.webhook }),
    ...(asking.priority === undefined ? {} : { priority: asking.priority }),
    ...(agent === undefined ? {} : { agent }),
  };
}
