import { undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { isOpen, type RunStatus } from '@agent-workflow/protos/lists';
import { namesQuestion } from '@agent-workflow/protos/question-id';
import type { Run, ThreadMatch } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { validator } from '../../../middleware/validate.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { threadSeq } from '../protocol/event-id.ts';
import { acceptNow, orderRun } from './ordered-run.ts';
import { threadMatch } from './threads.ts';
import { questionsIn } from '../out/interrupts.ts';
import { CreateRun, type RunInput } from '../schemas/runs.ts';
import { GetTree, Respond, type CommandInput, type RespondInput } from '../schemas/streams.ts';
import { CommandRefusal, type CommandResult } from './command-reply.ts';

/** A command, and the thread that it is about. */
interface Commanded {
  readonly threadId: string;
  readonly command: CommandInput;
}

type JsonObject = Readonly<Record<string, unknown>>;

type Do = (request: EndpointRequest, commanded: Commanded, services: Services) => Promise<CommandResult>;

const checkRun = validator(CreateRun);
const checkAnswer = validator(Respond);
const checkTree = validator(GetTree);

/** Checks what stands in `params`. @throws Invalid */
function readParams(check: ReturnType<typeof validator>, { params = {} }: CommandInput): unknown {
  // Nothing is none: clients leave no field out whose value they do not have.
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null));
  check(given, () => 'body');
  return given;
}

/** Starts a run; a thread that is not there is made. */
const startRun: Do = async (request, { threadId, command }, services) => {
  const { multitaskStrategy, ...params } = command.params ?? {};
  if (params['on_completion'] === 'delete')
    throw new CommandRefusal('not_supported', 'on_completion is not supported: the thread of a command stays');
  const given = { ...(multitaskStrategy !== undefined && { multitask_strategy: multitaskStrategy }), ...params };
  const body = readParams(checkRun, { ...command, params: given }) as RunInput;
  return start(request, { threadId, body: { ...body, if_not_exists: 'create' } }, services);
};

/** Answers questions of the thread: a run goes on with the answers. */
const respond: Do = async (request, { threadId, command }, services) => {
  const params = readParams(checkAnswer, command) as RespondInput;
  const { update, goto: target, config, metadata } = params;
  const answers = answersIn(params);
  if (target !== undefined)
    throw new CommandRefusal('not_supported', 'goto is not supported: a run goes on where its thread stands');
  const match = await undefinedIfNotFound(threadMatch(request, threadId, services));
  if (!match) throw new CommandRefusal('no_such_interrupt', 'the thread asks nothing: it does not exist');
  refuseUnknown(answers, match);
  const { agent = '', metadataJson } = match.thread;
  const { assistant_id: of } = metadataJson ? (JSON.parse(jsonText(metadataJson)) as JsonObject) : {};
  const body = {
    assistant_id: typeof of === 'string' ? of : assistantIdOf(agent),
    command: { resume: Object.fromEntries(answers), ...(update !== undefined && { update }) },
    ...(config && { config }),
    ...(metadata && { metadata }),
  };
  const { result: _, ...done } = await start(request, { threadId, body }, services);
  return { result: {}, ...done };
};

type Answers = readonly (readonly [id: string, answer: unknown])[];

function answersIn({ interrupt_id: id, response, responses }: RespondInput): Answers {
  if (responses) return responses.map((answer) => [answer.interrupt_id, answer.response ?? null]);
  if (id === undefined) throw new CommandRefusal('invalid_argument', 'params: interrupt_id is required, or responses');
  return [[id, response ?? null]];
}

/** The record reads an answer under an id that has not the form of one as a bare answer, to whatever is asked. @throws CommandRefusal */
function refuseUnknown(answers: Answers, { interruptsJson }: Pick<ThreadMatch, 'interruptsJson'>): void {
  const strange = answers.flatMap(([id]) => (namesQuestion(id) ? [] : [id]));
  if (strange.length === 0) return;
  const open = new Set(questionsIn(interruptsJson && jsonText(interruptsJson)).map(({ id }) => id));
  const unknown = strange.find((id) => !open.has(id));
  if (unknown !== undefined) throw new CommandRefusal('no_such_interrupt', `the thread does not ask "${unknown}"`);
}

async function start(
  request: EndpointRequest,
  { threadId, body }: { readonly threadId: string; readonly body: RunInput },
  services: Services,
): Promise<CommandResult> {
  const ordered = await orderRun(request, { body, threadId, loc: ['body', 'params'] }, services);
  const { runId } = await acceptNow(request, ordered, services);
  const run = await undefinedIfNotFound(services.threads.getRun({ owner: request.owner, runId }, request.call()));
  const { ordinal } = run ?? {};
  // What comes of the runs before it is older.
  return { result: { run_id: runId }, appliedThrough: ordinal === undefined ? 0 : threadSeq(ordinal, 0) };
}

/** The tree of the run that is under way, or of one that is named. The steps of a sub-graph are one node: the tree is its root. */
const getTree: Do = async (request, { threadId, command }, services) => {
  const { run_id: named } = readParams(checkTree, command) as { readonly run_id?: string };
  const { owner, call } = request;
  const thread = await undefinedIfNotFound(services.threads.getThread({ owner, threadId }, call()));
  const runId = named ?? thread?.activeRunId;
  const run =
    runId === undefined ? undefined : await undefinedIfNotFound(services.threads.getRun({ owner, runId }, call()));
  if (run?.threadId !== threadId) throw new CommandRefusal('no_such_run', 'the thread has no such run under way');
  return { result: { tree: { namespace: [], status: treeStatus(run), graph_name: run.agent } } };
};

const ended: Partial<Readonly<Record<RunStatus, string>>> = {
  completed: 'completed',
  failed: 'failed',
};

function treeStatus({ status }: Run): string {
  if (isOpen(status)) return status === 'queued' ? 'started' : 'running';
  return ended[status] ?? 'interrupted';
}

const inject: Do = () =>
  Promise.reject(
    new CommandRefusal(
      'not_supported',
      'input.inject is not supported: a run reads its input when it starts. Start another',
    ),
  );

const commands: Readonly<Record<string, Do>> = {
  'run.start': startRun,
  'input.respond': respond,
  'input.inject': inject,
  'agent.getTree': getTree,
};

/** Does what a command says. @throws CommandRefusal, and what services throw */
export async function runCommand(
  request: EndpointRequest,
  commanded: Commanded,
  services: Services,
): Promise<CommandResult> {
  const { method } = commanded.command;
  const run = Object.hasOwn(commands, method) ? commands[method] : undefined;
  if (!run) throw new CommandRefusal('unknown_command', `Unknown protocol command: ${method}`);
  return run(request, commanded, services);
}
