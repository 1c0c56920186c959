import { toExpression } from './arithmetic.ts';
import type { Known, Step } from './intent.ts';
import { asYou, cutEnd } from './words.ts';

/** Reads a sentence; `undefined` when it is for another to understand. */
type Reader = (sentence: string, known: Known) => Step | undefined;

const abilities =
  'I can do arithmetic, tell the time anywhere, and remember things for you: try "what is 12 * 7?", ' +
  '"what time is it in Tokyo?" or "remember that my favourite tea is sencha".';

export const greeting = ({ userName }: Known): string =>
  `Hello${userName === '' ? '' : `, ${userName}`}! What can I do for you?`;

/** `use look_up {"id": 7}` calls any tool of the run by its name, the caller's own ones too. */
export const readToolCall: Reader = (sentence, { tools }) => {
  const [call = '', name] = /^(?:use|call|run) ([^\s{]+)/i.exec(sentence) ?? [];
  const json = sentence.slice(call.length).trim();
  if (name === undefined || !tools.some((tool) => tool.name === name)) return undefined;
  if (json !== '' && !(json.startsWith('{') && json.endsWith('}'))) return undefined;
  try {
    return { call: { name, args: JSON.parse(json || '{}') as Readonly<Record<string, unknown>> } };
  } catch {
    return { words: `The arguments of ${name} must be a JSON object.` };
  }
};

const readFact: Reader = (sentence) => {
  const telling = /^(?:please,? )?(?:remember|note|don['’]t forget|do not forget)(?: that|:)? (.*[^.!?])[.!]*$/is;
  const fact = telling.exec(sentence)?.[1];
  return fact === undefined ? undefined : { call: { name: 'remember', args: { fact } } };
};

const readName: Reader = (sentence) => {
  const telling = /\b(?:my name is|call me|I am called) (\p{L}[\p{L}'’-]*)[.!]*$/iu;
  const userName = telling.exec(sentence)?.[1];
  return userName === undefined ? undefined : { userName, words: `Nice to meet you, ${userName}.` };
};

const readGreeting: Reader = (sentence, known) => {
  const hello = /^(?:hi|hello|hey|good (?:morning|afternoon|evening|day))(?: there| again)?[,.!]*$/i;
  if (hello.test(sentence)) return { words: greeting(known) };
  if (/^(?:thanks|thank you|cheers)\b/i.test(sentence)) return { words: 'You are welcome.' };
  if (/^(?:bye|goodbye|good night|see you)\b/i.test(sentence)) return { words: 'Goodbye!' };
  return undefined;
};

const readHelp: Reader = (sentence) =>
  /\b(?:what can you do|who are you|what are you)\b|^help\W*$/i.test(sentence)
    ? { words: `I am the agent that this service comes with, and I work without a model. ${abilities}` }
    : undefined;

const readArithmetic: Reader = (sentence) => {
  const expression = toExpression(sentence);
  return expression === undefined ? undefined : { call: { name: 'calculate', args: { expression } } };
};

const readClock: Reader = (sentence) => {
  const asking = /\b(?:the (?:current )?(?:time|date)|(?:time|day|date) is it|current (?:time|date))\b/i;
  const personal = /\b(?:my|our|I|we)\b/i;
  if (!asking.test(sentence) || personal.test(sentence)) return undefined;
  const place = placeIn(sentence);
  return { call: { name: 'current_time', args: place === undefined ? {} : { time_zone: place } } };
};

/** The place that a sentence ends with, as "Porto" of "What time is it in Porto right now?". */
function placeIn(sentence: string): string | undefined {
  const end = sentence.split(/[^\p{L}\d_/+ -]/u).findLast((words) => words.trim() !== '') ?? '';
  const place = /\b(?:in|at) (\p{L}.*)$/u.exec(end)?.[1];
  return place && cutEnd(place, ' /+-').replace(/ (?:right )?now$/, '');
}

const readOwnName: Reader = (sentence, { userName }) =>
  userName !== '' && /\b(?:what(?:['’]s| is) my name|who am I)\b/i.test(sentence)
    ? { words: `You are ${userName}.` }
    : undefined;

const readQuestion: Reader = (sentence) => {
  const asking = /^(?:what|who|when|where|which|why|how|do|does|did|is|are|am|can|could|tell me|recall)\b/i;
  return sentence.endsWith('?') || asking.test(sentence)
    ? { call: { name: 'recall', args: { query: sentence } } }
    : undefined;
};

/** Characters of a statement beyond which a reply does not repeat it. */
const longFact = 10_000;

const readStatement: Reader = (sentence) => {
  if (!/\b(?:I|my|me|we|our)\b/i.test(sentence)) return undefined;
  const fact = cutEnd(sentence, '.!');
  if (fact.length > longFact) return { words: `That is a lot to take in. ${abilities}` };
  return { words: `So ${asYou(fact)}. Say "remember that ${fact}" and I will keep it in mind.` };
};

const readAnything: Reader = () => ({ words: `I did not understand that. ${abilities}` });

/** The first that understands a sentence has it. */
export const readers: readonly Reader[] = [
  readToolCall,
  readFact,
  readName,
  readGreeting,
  readHelp,
  readArithmetic,
  readClock,
  readOwnName,
  readQuestion,
  readStatement,
  readAnything,
];
