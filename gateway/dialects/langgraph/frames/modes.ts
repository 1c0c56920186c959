import { invalidAt, type Loc } from '../../../http/fields.ts';

/** What a stream may hold, by LangGraph's names. */
const streamModes = [
  'values',
  'updates',
  'messages',
  'messages-tuple',
  'custom',
  'events',
  'debug',
  'tasks',
  'checkpoints',
] as const;
type StreamMode = (typeof streamModes)[number];

export type Modes = ReadonlySet<StreamMode>;

const isMode = (word: string): word is StreamMode => (streamModes as readonly string[]).includes(word);

/** The modes that a request asks for; `values` where it asks for none, as an empty parameter does. @throws Invalid for a word that is none */
export function readModes(given: string | readonly string[] | undefined, loc: Loc): Modes {
  const words = given === undefined ? [] : typeof given === 'string' ? [given] : given;
  const modes = new Set<StreamMode>();
  for (const word of words.filter((each) => each !== '')) {
    if (!isMode(word)) throw invalidAt(loc, `must be of ${streamModes.join(', ')}`, 'enum');
    modes.add(word);
  }
  return modes.size === 0 ? new Set<StreamMode>(['values']) : modes;
}
