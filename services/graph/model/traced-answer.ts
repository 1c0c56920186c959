import { tracedCode } from '../trace/current-span.ts';
import { sentMessages } from '../trace/sent-messages.ts';
import { failSpan } from '../trace/span-error.ts';
import type { Span } from '../trace/step-trace.ts';
import type { AnswerPart, ModelQuestion } from './model.ts';

interface AskedModel {
  /** Absent or empty: the name that its usage gives. */
  readonly name?: string | undefined;
  readonly question: ModelQuestion;
  readonly signal: AbortSignal;
  /** The message that the answer becomes; absent: none. */
  readonly messageId?: string | undefined;
}

/** The questions that are being traced: a model that is asked by a node of ours need not trace them once more. */
const traced = new WeakSet<ModelQuestion>();

/** Begins to trace a question and its answer, as a part of the code that asks; `undefined` where that is not traced, or the question is already. */
export function beginAnswer(asked: AskedModel): TracedAnswer | undefined {
  const code = tracedCode();
  if (!code || traced.has(asked.question)) return undefined;
  const { name = '', question } = asked;
  const { noted, others } = sentMessages(question.messages, code.context);
  const span = code.span.begin('model', { name, sent: noted });
  if (span.keepsContent) {
    if (question.instructions !== '') span.add('instructions', question.instructions);
    if (others.length > 0) span.add('sent', others);
    if (question.tools.length > 0)
      span.add(
        'tools',
        question.tools.map(({ name: tool }) => tool),
      );
  }
  traced.add(question);
  return new TracedAnswer(span, asked);
}

/** The parts of an answer as they come, traced where the code that asks is. */
export function traceAnswer(asked: AskedModel, read: () => AsyncIterable<AnswerPart>): AsyncIterable<AnswerPart> {
  return tracedCode() && !traced.has(asked.question) ? traceParts(asked, read()) : read();
}

async function* traceParts(asked: AskedModel, parts: AsyncIterable<AnswerPart>): AsyncGenerator<AnswerPart> {
  const answer = beginAnswer(asked);
  try {
    for await (const part of parts) {
      answer?.take(part);
      yield part;
    }
    answer?.end();
  } catch (error) {
    answer?.fail(error);
    throw error;
  } finally {
    // A reader that leaves the answer early has stopped it.
    answer?.leave();
  }
}

/** The characters of a text that are kept for operators, where no message has it. */
const mostCharacters = 64 * 1024;

/** A question that a model was asked. It notes what is known of the answer, in whatever shape a model of an author's own gives it. */
class TracedAnswer {
  readonly #span: Span;
  readonly #asked: AskedModel;
  #isEmpty = true;
  #text = '';

  constructor(span: Span, asked: AskedModel) {
    this.#span = span;
    this.#asked = asked;
  }

  take(given: unknown): void {
    if (typeof given !== 'object' || given === null) return;
    const part = given as Readonly<Record<string, unknown>>;
    if (part['type'] === 'usage') this.#noteUsage(part);
    else if (part['type'] === 'finish') this.#noteFinish(part['reason']);
    else {
      this.#isEmpty = false;
      this.#keepText(part);
    }
  }

  end(): void {
    const { messageId } = this.#asked;
    if (this.#text !== '') this.#span.add('output', this.#text);
    this.#span.end('completed', messageId === undefined || this.#isEmpty ? {} : { message: messageId });
    this.leave();
  }

  fail(error: unknown): void {
    failSpan(this.#span, error, this.#asked.signal);
    this.leave();
  }

  /** Ends it as stopped, unless it has ended. */
  leave(): void {
    traced.delete(this.#asked.question);
    this.#span.end('stopped');
  }

  #noteFinish(reason: unknown): void {
    if (typeof reason === 'string') this.#span.note({ finish: reason.slice(0, 64).toWellFormed() });
  }

  #noteUsage({ model, inputTokens, outputTokens }: Readonly<Record<string, unknown>>): void {
    if (typeof model === 'string' && model !== '') this.#span.note({ name: model });
    if (isCount(inputTokens) && isCount(outputTokens)) this.#span.note({ tokens: [inputTokens, outputTokens] });
  }

  #keepText({ type, text }: Readonly<Record<string, unknown>>): void {
    const isKept = this.#span.keepsContent && this.#asked.messageId === undefined && type === 'text';
    if (isKept && typeof text === 'string' && this.#text.length < mostCharacters) this.#text += text;
  }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
