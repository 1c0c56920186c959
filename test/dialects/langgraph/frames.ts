import { differences } from './shape.ts';

/** One frame of a stream. */
interface Frame {
  readonly name: string;
  readonly data: unknown;
}

/** The frames of a stream of server-sent events, comments left out. */
function framesIn(text: string): readonly Frame[] {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .flatMap((block) => {
      const fields = new Map(
        block.split('\n').map((line) => [line.split(': ', 1)[0], line.slice(line.indexOf(': ') + 2)]),
      );
      const [name, data] = [fields.get('event'), fields.get('data')];
      return name === undefined || data === undefined ? [] : [{ name, data: JSON.parse(data) as unknown }];
    });
}

/** What a frame is about: its name, and what tells frames of one name apart. */
function kindOf({ name, data }: Frame): string {
  const { event, type, ...members } = (data ?? {}) as Readonly<Record<string, unknown>>;
  switch (name) {
    case 'events':
      return `${name} ${String(event)}`;
    case 'debug':
      return `${name} ${String(type)}`;
    case 'updates':
      return `${name} ${Object.keys(members).join()}`;
    case 'tasks':
      return `${name} ${'result' in members ? 'result' : 'start'}`;
    case 'values':
      return '__interrupt__' in members ? 'values interrupted' : name;
    default:
      return name;
  }
}

/** Of frames of one kind that follow each other the first: how many chunks a text comes in says nothing. */
const firstOfEach = (frames: readonly Frame[]): readonly Frame[] =>
  frames.filter((frame, index) => {
    const before = frames[index - 1];
    return !before || kindOf(before) !== kindOf(frame);
  });

/** How a stream differs from a recorded one: the order of what its frames are about, and the shape of each. */
export function streamDifferences(recorded: string, ours: string): readonly string[] {
  const [theirs, own] = [firstOfEach(framesIn(recorded)), firstOfEach(framesIn(ours))];
  const [order, ownOrder] = [theirs.map(kindOf), own.map(kindOf)].map((kinds) => kinds.join(', '));
  if (order !== ownOrder) return [`frames ${String(ownOrder)}, not ${String(order)}`];
  return theirs.flatMap((frame, index) => differences(frame.data, own[index]?.data, kindOf(frame)));
}
