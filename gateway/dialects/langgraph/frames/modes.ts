import { invalidAt, type Loc } from '../../../http/fields.ts';
import type { Started } from '../out/kept-request.ts';

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

/** The modes that a request asks for; nothing where it asks for none, as an empty parameter does. @throws Invalid for a word that is none */
export function readModesIn(given: string | readonly string[] | undefined, loc: Loc): Modes | undefined {
  const modes = new Set<StreamMode>();
  for (const word of [given ?? []].flat().filter((each) => each !== '')) {
    if (!isMode(word)) throw invalidAt(loc, `must be of ${streamModes.join(', ')}`, 'enum');
    modes.add(word);
  }
  return modes.size === 0 ? undefined : modes;
}

/** The same, and `values` where a request asks for none. @throws Invalid */
export const readModes = (given: string | readonly string[] | undefined, loc: Loc): Modes =>
  readModesIn(given, loc) ?? defaultModes;

/** The modes of a run by its request; `values` for one whose request is not kept. */
export const modesOf = (started: Started | undefined): Modes =>
  readModes(started?.body.stream_mode, ['body', 'stream_mode']);

const defaultModes: Modes = new Set<StreamMode>(['values']);
