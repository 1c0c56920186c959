import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { CallBlock, Message } from '@agent-workflow/protos/message';
import type { ToolContext } from '../build/context.ts';
import { readable, textForModel } from '../state/failure.ts';
import { isSuspension } from './interrupt.ts';
import { callByRecord, type CallResult, type ToolCallRecords } from './tool-call-records.ts';
import { lostPlace, promisePlace } from '../state/json-value.ts';
import { foreignSchemaFault } from '../state/schema.ts';
import { checks, checkValue, type Checked } from '../state/standard-schema.ts';
import { deepFreeze } from '../state/state.ts';
import type { Tool } from '../build/tool.ts';

/** The context of one tool call, its records, and where its error goes. */
interface CallOptions {
  readonly context: ToolContext;
  readonly records?: ToolCallRecords | undefined;
  /** Called with what the tool threw. The answer has its message without the stack. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Called with how long the call kept the event loop before it gave its result or its promise, in milliseconds. */
  readonly onTurn?: ((ms: number) => void) | undefined;
}

/**
 * Runs one server call and gives its answer. An error of the call is an answer too, so that the model can correct the call.
 * Without records every call may be made again.
 */
export async function answerCall(
  tools: readonly Tool[],
  call: CallBlock,
  { context, records, onError, onTurn }: CallOptions,
): Promise<Message> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool?.run) return toolMessage(call, `There is no tool named ${call.name}.`, true);
  const checked = await checkArgs(tool, call.args, { context, onError });
  if (checked.fault !== undefined) return toolMessage(call, checked.fault, true);
  const { run } = tool;
  const work = async (): Promise<unknown> =>
    timed(() => run(checked.value as Record<string, unknown>, context), onTurn);
  const make = async (): Promise<CallResult> => makeCall(work, { context, onError });
  const { output, isError } =
    tool.replay === 'once' && records ? await callByRecord(records, context.idempotencyKey, make) : await make();
  return toolMessage(call, output, isError);
}

/** The answer to a call that is not made. */
export const refuseCall = (call: CallBlock, fault: string): Message => toolMessage(call, fault, true);

function timed<T>(work: () => T, onTurn: CallOptions['onTurn']): T {
  if (!onTurn) return work();
  const begun = performance.now();
  try {
    return work();
  } finally {
    onTurn(performance.now() - begun);
  }
}

type Caller = Pick<CallOptions, 'context' | 'onError'>;

async function makeCall(work: () => Promise<unknown>, caller: Caller): Promise<CallResult> {
  try {
    return { output: toOutput(await work()), isError: false };
  } catch (error) {
    return { output: toErrorOutput(error, caller), isError: true };
  }
}

/** What the model gets for what the code of the author threw. */
function toErrorOutput(thrown: unknown, { context, onError }: Caller): string {
  if (context.signal.aborted) throw thrown;
  const error = readable(thrown);
  if (!isSuspension(error)) onError?.(error);
  return textForModel(error);
}

/** The result of a tool as JSON. Values that JSON does not have are dropped here, so that every later reader gets the same value. */
function toOutput(output: unknown): unknown {
  const isText = typeof output === 'string';
  if (isText && output.length <= smallCharacters) return output;
  const place = promisePlace(output, 'result');
  if (place !== undefined) throw new TypeError(`The result holds a promise at ${place}: it was not awaited.`);
  const json = (JSON.stringify(output ?? null) as string | undefined) ?? 'null';
  const bytes = json.length <= smallCharacters ? 0 : Buffer.byteLength(json);
  if (bytes > maxOutputBytes) throw new RangeError(`The result weighs ${bytes} bytes, more than ${maxOutputBytes}.`);
  const lost = lostPlace(output, json, 'result');
  if (lost !== undefined) throw new TypeError(`The result holds ${lost}.`);
  return isText ? output : JSON.parse(json);
}

/** The size limit of a message, less the rest of the message. A larger result becomes an error for the model, which can ask for less; it does not fail the run. */
const maxOutputBytes = sizes.message - 4096;
/** Texts up to this length are always below the limit, because a character takes at most six bytes in JSON. */
const smallCharacters = maxOutputBytes / 8;

function toolMessage(call: CallBlock, output: unknown, isError: boolean): Message {
  const status = isError ? 'error' : 'completed';
  return deepFreeze({
    message_id: newId(),
    role: 'tool',
    content: [{ type: 'tool_result', call_id: call.id, output, status, is_error: isError }],
    timestamp: new Date().toISOString(),
  });
}

/**
 * The arguments as the schema of a validation library transforms them, or why it refuses them: it alone judges where there is one, and may run code of
 * the author, which may throw. Elsewhere the JSON Schema judges.
 */
async function checkArgs({ parameters, schema }: Tool, args: unknown, caller: Caller): Promise<Checked> {
  if (!schema || !checks(schema)) {
    const fault = foreignSchemaFault(parameters, args, 'arguments');
    return fault === undefined ? { value: args } : { fault };
  }
  try {
    return await checkValue(schema, args, 'arguments');
  } catch (error) {
    return { fault: toErrorOutput(error, caller) };
  }
}
