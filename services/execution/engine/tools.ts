import { newId } from '@agent-workflow/kit/ids';
import type { CallBlock, Message } from '@agent-workflow/protos/message';
import { Ajv, type ValidateFunction } from 'ajv';
import type { ToolContext } from './context.ts';
import { messageOf } from './failure.ts';
import { deepFreeze } from './state.ts';
import type { Tool } from './tool.ts';

/** Runs one server call and answers it: also what goes wrong in it is an answer, so that the model can mend it. */
export async function answerCall(tools: readonly Tool[], call: CallBlock, context: ToolContext): Promise<Message> {
  const tool = tools.find(({ name }) => name === call.name);
  if (!tool?.run) return toolMessage(call, `There is no tool named ${call.name}.`, true);
  const fault = checkArgs(tool, call.args);
  if (fault !== undefined) return toolMessage(call, fault, true);
  try {
    const output = await tool.run(call.args as Record<string, unknown>, context);
    return toolMessage(call, toOutput(output), false);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return toolMessage(call, messageOf(error), true);
  }
}

/** What a tool gave back as JSON: what JSON cannot say is left out of it here, once, and not differently on each read. */
const toOutput = (output: unknown): unknown =>
  typeof output === 'string' ? output : JSON.parse(JSON.stringify(output ?? null));

function toolMessage(call: CallBlock, output: unknown, isError: boolean): Message {
  const status = isError ? 'error' : 'completed';
  return deepFreeze({
    message_id: newId(),
    role: 'tool',
    content: [{ type: 'tool_result', call_id: call.id, output, status, is_error: isError }],
    timestamp: new Date().toISOString(),
  });
}

let ajv: Ajv | undefined;
const validators = new WeakMap<Tool, ValidateFunction>();

function checkArgs(tool: Tool, args: unknown): string | undefined {
  ajv ??= new Ajv({ strict: false, allErrors: true, ownProperties: true });
  let validate = validators.get(tool);
  if (!validate) {
    validate = ajv.compile(tool.parameters);
    validators.set(tool, validate);
  }
  return validate(args) ? undefined : ajv.errorsText(validate.errors, { dataVar: 'arguments' });
}
