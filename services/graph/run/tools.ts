import { newId } from '@agent-workflow/kit/ids';
import { sizes } from '@agent-workflow/kit/sizes';
import type { CallBlock, Message } from '@agent-workflow/protos/message';
import type { ToolContext } from '../build/context.ts';
import { messageOf } from '../state/failure.ts';
import { isQuestion } from './interrupt.ts';
import { callOnce, type CallNotes, type CallResult } from './once.ts';
import { schemaFault } from '../state/schema.ts';
import { deepFreeze } from '../state/state.ts';
import type { Tool } from '../build/tool.ts';

/** What one call is made with. */
export interface CallOptions {
  readonly context: ToolContext;
  readonly notes?: CallNotes | undefined;
  /** Called with what the tool threw, which its answer tells without the stack. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Runs one server call and answers it: also what goes wrong in it is an answer, so that the model can mend it. Without notes
 * every call may be made again.
 */
export async function answerCall(
  tools: readonly Tool[],
  call: CallBlock,
  { context, notes, onError }: CallOptions,
): Promise<Message> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool?.run) return toolMessage(call, `There is no tool named ${call.name}.`, true);
  const fault = checkArgs(tool, call.args);
  if (fault !== undefined) return toolMessage(call, fault, true);
  const { run } = tool;
  const make = async (): Promise<CallResult> => makeCall(run, call, { context, onError });
  const { output, isError } =
    tool.replay === 'once' && notes ? await callOnce(notes, context.idempotencyKey, make) : await make();
  return toolMessage(call, output, isError);
}

async function makeCall(
  run: NonNullable<Tool['run']>,
  call: CallBlock,
  { context, onError }: Pick<CallOptions, 'context' | 'onError'>,
): Promise<CallResult> {
  try {
    const output = await run(call.args as Record<string, unknown>, context);
    return { output: toOutput(output), isError: false };
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (!isQuestion(error)) onError?.(error);
    return { output: messageOf(error), isError: true };
  }
}

/** What a tool gave back as JSON: what JSON cannot say is left out of it here, once, and not differently on each read. */
function toOutput(output: unknown): unknown {
  const isText = typeof output === 'string';
  if (isText && output.length <= lightCharacters) return output;
  const json = (JSON.stringify(output ?? null) as string | undefined) ?? 'null';
  const bytes = json.length <= lightCharacters ? 0 : Buffer.byteLength(json);
  if (bytes > maxOutputBytes) throw new RangeError(`The result weighs ${bytes} bytes, more than ${maxOutputBytes}.`);
  return isText ? output : JSON.parse(json);
}

/** What a message may weigh, less what stands around the result. A model can ask for less; a run that fails cannot. */
const maxOutputBytes = sizes.message - 4096;
/** So few characters are light whatever they are: JSON spells none with more than six bytes. */
const lightCharacters = maxOutputBytes / 8;

function toolMessage(call: CallBlock, output: unknown, isError: boolean): Message {
  const status = isError ? 'error' : 'completed';
  return deepFreeze({
    message_id: newId(),
    role: 'tool',
    content: [{ type: 'tool_result', call_id: call.id, output, status, is_error: isError }],
    timestamp: new Date().toISOString(),
  });
}

const checkArgs = ({ parameters }: Tool, args: unknown): string | undefined =>
  schemaFault(parameters, args, 'arguments');
