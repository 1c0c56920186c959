import type { AnswerPart, Model, ModelQuestion } from '../model/model.ts';
import { refuseUnknown } from '../state/refuse-unknown.ts';
import { addRecord, excerptOf, keyOfQuestion, readRecording } from './recording.ts';
import { toWords } from './to-words.ts';

export interface RecordedModelOptions {
  /** `replay`, unless given: the model is never asked. `record`: it is asked what is not on record, and its answers are added to the file. */
  readonly mode?: 'replay' | 'record';
}

/**
 * A model for tests that gives the answers of a real one from a JSON file. Questions with the same instructions, messages, tools
 * and schema are one question; ids and times of messages do not count. One that comes again gets the same answer. To record anew, delete
 * the file. It holds no question but the beginning of its last message, and no setting of the model.
 * @throws Error, when it is asked what is not on record; it names the file and how to record.
 */
export function recordedModel(model: Model, file: string, options: RecordedModelOptions = {}): Model {
  refuseUnknown('what recordedModel is given', '', options, { mode: true });
  const { mode = 'replay' } = options;
  if (!modes.includes(mode)) throw new TypeError(`mode is ${modes.join(' or ')}, not ${mode}`);
  return {
    async *answer(question, signal) {
      signal.throwIfAborted();
      const key = keyOfQuestion(question);
      const known = readRecording(file).answers.find((answer) => answer.key === key);
      if (known) {
        yield* replay(known.parts);
        return;
      }
      if (mode !== 'record') throw missing(file, question);
      const parts: AnswerPart[] = [];
      for await (const part of model.answer(question, signal)) {
        parts.push(part);
        yield part;
      }
      addRecord(file, { key, question: excerptOf(question), parts: joined(parts) });
    },
  };
}

const modes: readonly unknown[] = ['replay', 'record'];

const missing = (file: string, question: ModelQuestion): Error =>
  new Error(
    `no answer to "${excerptOf(question)}" is on record in ${file}: run the test once with recordedModel(model, file, { mode: 'record' })`,
  );

function* replay(parts: readonly AnswerPart[]): Generator<AnswerPart> {
  for (const part of parts) yield* part.type === 'text' ? toWords(part.text) : [part];
}

/** Text that came in many parts, as one: the file is easier to read. */
function joined(parts: readonly AnswerPart[]): readonly AnswerPart[] {
  const list: AnswerPart[] = [];
  for (const part of parts) {
    const last = list.at(-1);
    if (part.type === 'text' && last?.type === 'text') list.splice(-1, 1, { ...last, text: last.text + part.text });
    else list.push(part);
  }
  return list;
}
