import type { Answerer } from '@agent-workflow/protos/answerer';
import type { RequestContext } from '@agent-workflow/kit/request-context';
import type { Knowledge } from '@agent-workflow/protos/knowledge';
import type { Answering, StartRequest } from '@agent-workflow/protos/execution';
import { fromJson } from './json.ts';

/** The options of a run. Its record keeps them from acceptance to the last claim. */
export interface RunOptions {
  readonly config: Readonly<Record<string, unknown>>;
  /** Absent when it is empty. */
  readonly context?: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
  readonly initialState: Readonly<Record<string, unknown>>;
  readonly tools: readonly RemoteToolOption[];
  readonly recursionLimit: number;
  /** Whether the run fails where it reaches this limit; absent: it ends with what it has. */
  readonly failsAtLimit?: boolean;
  /** Whether the fields of the initial state are on record before the first nodes run; absent: with their step. */
  readonly recordsInput?: boolean;
  /** The messages that leave the context before the run begins; `__remove_all__`: all that were there before its own. */
  readonly removes?: readonly string[];
  /** Whether what goes on in sub-graphs is published. */
  readonly streamsSubgraphs?: boolean;
  /** The answer to the questions of the thread's interrupted run; the key is absent when nothing is answered. */
  readonly resume?: unknown;
  /** The questions whose deadlines have begun the run, by id. Those without an answer in `resume` have no default. */
  readonly passed?: readonly { readonly id: string }[];
  /** The questions whose callers gave answers that differ, by id. */
  readonly differ?: readonly string[];
  /** Who gave the answers. Absent for defaults. */
  readonly answeredBy?: readonly Answerer[];
  /** The principal who sent its request, where that is not the owner of its thread. Runs that go on from it keep it. */
  readonly sender?: string;
  /** Where the run stops until its caller lets it go on. Absent: nowhere. */
  readonly breakpoints?: Breakpoints;
  /** What the run may do in scopes of memories; absent: nothing beside what is its owner's and its agent's. */
  readonly knowledge?: Knowledge;
  /** When the run was accepted, and in which trace. Absent on records without it. */
  readonly accepted?: Accepted;
  /** The run goes on where its thread stands. The record takes it away where that is a step that failed or was stopped. */
  readonly goesOn?: true;
  /**
   * Of a run that tries a failed one again: the run whose keys and records its steps have, and the number that its first step has among the steps of
   * those; whether branches and calls of that may have records. The record puts it here.
   */
  readonly retry?: { readonly run: string; readonly from: number; readonly hasRecords: boolean };
}

/** In a list of nodes: every node. */
export const everyNode = '*';

/** Nodes before and after which a run stops; `*` stands for every node. */
export interface Breakpoints {
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

/** Time and trace of a run's acceptance: for traces and metrics, no decision depends on them. */
interface Accepted extends Pick<RequestContext, 'traceparent' | 'tracestate'> {
  /** Milliseconds since 1970, by the clock of the replica that accepted the run. */
  readonly at: number;
}

interface RemoteToolOption {
  readonly node: string;
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Its owner had set it up; absent: the request declared it. */
  readonly isSetUp?: boolean;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** What is stored beside the request. */
interface OptionsParts {
  readonly accepted?: Accepted;
  /** Replaces the initial state of the request. */
  readonly initialState?: JsonObject;
}

/**
 * The options of a run as its record keeps them; {@link fromOptionsJson} reads them. The JSON texts of the request are copied
 * into them, neither parsed nor serialised again.
 */
export function toOptionsJson(request: StartRequest, { accepted, initialState }: OptionsParts): Uint8Array {
  const { configJson, contextJson, userJson, initialStateJson, resumeJson, breakpointsJson, tools, recursionLimit } =
    request;
  const { requestJson, failsAtLimit = false, streamsSubgraphs = false, recordsInput = false } = request;
  const { answering, removedFromContext: removes = [] } = request;
  const parts: Uint8Array[] = [];
  let text = '{';
  const put = (name: string, json: Uint8Array | undefined): void => {
    text += name;
    if (json) {
      parts.push(Buffer.from(text), json);
      text = '';
    } else text += '{}';
  };
  put('"config":', configJson);
  if (contextJson) put(',"context":', contextJson);
  put(',"user":', userJson);
  put(',"initialState":', initialState ? toJson(initialState) : initialStateJson);
  if (resumeJson) put(',"resume":', resumeJson);
  if (resumeJson && answering && accepted) text += `,"answeredBy":${JSON.stringify([toAnswerer(answering, accepted)])}`;
  if (breakpointsJson) put(',"breakpoints":', breakpointsJson);
  if (requestJson) put(',"request":', requestJson);
  if (request.knowledgeJson) put(',"knowledge":', request.knowledgeJson);
  text += ',"tools":[';
  for (const [index, { nodeName: node, name, description, isSetUp, parametersJson }] of tools.entries()) {
    const named = JSON.stringify({ node, name, description, ...(isSetUp && { isSetUp }) }).slice(0, -1);
    put(`${index === 0 ? '' : ','}${named},"parameters":`, parametersJson);
    text += '}';
  }
  text += `],"recursionLimit":${String(recursionLimit)}`;
  if (failsAtLimit) text += ',"failsAtLimit":true';
  if (recordsInput) text += ',"recordsInput":true';
  if (removes.length > 0) text += `,"removes":${JSON.stringify(removes)}`;
  if (streamsSubgraphs) text += ',"streamsSubgraphs":true';
  if (accepted) text += `,"accepted":${JSON.stringify(accepted)}`;
  if (request.goesOn === true) text += ',"goesOn":true';
  const { shareId: id, shareUntil: until } = request;
  if (id !== undefined) text += `,"share":${JSON.stringify({ id, until })}`;
  if (request.sender !== undefined) text += `,"sender":${JSON.stringify(request.sender)}`;
  if (request.addressees && request.addressees.length > 0)
    text += `,"addressees":${JSON.stringify(request.addressees)}`;
  if (request.keepsQuestions === true) text += ',"keepsQuestions":true';
  const rest = Buffer.from(`${text}}`);
  return parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
}

const toAnswerer = ({ by, client, key }: Answering, { at }: Accepted): Answerer => ({
  by,
  at: new Date(at).toISOString(),
  client,
  ...(key !== undefined && { key }),
});

const toJson = (value: object): Uint8Array => Buffer.from(JSON.stringify(value));

export const fromOptionsJson = (json: Uint8Array): RunOptions => fromJson(json) as RunOptions;
