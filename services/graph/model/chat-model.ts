import { readChatAnswer } from './chat-answer.ts';
import { sendQuestion, toChatFault, toHeaders, toUrl, type ChatApi } from './chat-request.ts';
import { guardAnswer } from './guarded-answer.ts';
import type { Model } from './model.ts';
import { traceAnswer } from './traced-answer.ts';
import type { SettingNames } from './model-failure.ts';
import { nameOf } from '../state/name-of.ts';
import { refuseUnknown, requireObject } from '../state/refuse-unknown.ts';

export interface ChatModelOptions extends ChatApi {
  /** How long one answer may take from the question to its last word, in milliseconds: five minutes unless given. */
  readonly timeoutMs?: number;
  /** What messages of failures call the settings, where an operator sets them by other names. */
  readonly names?: Partial<SettingNames>;
}

/**
 * A model at any API that speaks OpenAI's chat completions (https://platform.openai.com/docs/api-reference/chat): OpenAI, Azure,
 * vLLM, Ollama, LiteLLM. Answers are streamed. A request that finds the API busy or unavailable is sent up to three times; an answer that
 * breaks off is not asked for again.
 * @throws Error when it is given no object, an option that it does not have, no name of a model, no address, or what cannot be sent as a header.
 */
export function chatModel(options: ChatModelOptions): Model {
  requireObject('what chatModel is given', options);
  refuseUnknown('what chatModel is given', '', options, optionNames);
  requireModelName(options);
  if (options.headers !== undefined) requireObject('headers of chatModel', options.headers);
  toUrl(options);
  toHeaders(options);
  const { timeoutMs = 300_000, names, ...api } = options;
  return {
    name: api.model,
    answer: (question, signal) =>
      traceAnswer({ name: api.model, question, signal }, () =>
        guardAnswer({ signal, timeoutMs, names, toFault: toChatFault }, async function* (either) {
          yield* readChatAnswer(await sendQuestion(api, question, either), api.model);
        }),
      ),
  };
}

const optionNames: Readonly<Record<keyof ChatModelOptions, true>> = {
  model: true,
  baseUrl: true,
  apiKey: true,
  headers: true,
  parameters: true,
  inputModalities: true,
  stream: true,
  timeoutMs: true,
  names: true,
};

/** What JavaScript lets pass: no model, and what is no name, as a setting that is not set. */
function requireModelName({ model }: { readonly model?: unknown }): void {
  if (typeof model !== 'string')
    throw new Error(`model of chatModel must be the name of a model at its provider, not ${nameOf(model)}`);
  if (model === '')
    throw new Error('model of chatModel must be the name of a model at its provider, not an empty text');
}
