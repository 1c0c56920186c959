/** One event of a text/event-stream. */
interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream of bytes, by the rules of the HTML standard (section 9.2.6). An event that is cut is not given; comments
 * are left out.
 * @throws RangeError for an event that is longer than `maxLength`.
 */
export async function* readEvents(
  bytes: AsyncIterable<Uint8Array>,
  maxLength = maxEventLength,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  const parser = createParser(maxLength);
  for await (const chunk of bytes) yield* parser(decoder.decode(chunk, { stream: true }));
}

/** How long an event may be, in UTF-16 units. The largest events of the service carry 8 MiB of context and 4 MiB of messages. */
const maxEventLength = 64 * 1024 * 1024;

/** Takes the text as it comes and gives the events that it completes. */
function createParser(maxLength: number): (text: string) => ServerEvent[] {
  let rest = '';
  /** No line ends before this place of `rest`. */
  let searched = 0;
  let id = '';
  let event = '';
  let data: string[] = [];
  /** The length of `data`. */
  let length = 0;
  const take = (line: string): ServerEvent | undefined => {
    if (line === '') {
      const ended = data.length === 0 ? undefined : { id, event: event || 'message', data: data.join('\n') };
      event = '';
      data = [];
      length = 0;
      return ended;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') {
      data.push(value);
      length += value.length + 1;
    } else if (field === 'event') event = value;
    else if (field === 'id') id = value;
    return undefined;
  };
  return (text) => {
    rest += text;
    const events: ServerEvent[] = [];
    let from = 0;
    for (let end = lineEnd(rest, searched); end !== undefined; end = lineEnd(rest, from)) {
      const ended = take(rest.slice(from, end.at));
      if (ended) events.push(ended);
      from = end.next;
    }
    rest = rest.slice(from);
    searched = Math.max(0, rest.length - 1);
    if (rest.length + length > maxLength)
      throw new RangeError(`an event is longer than ${String(maxLength)} characters`);
    return events;
  };
}

/** Where a line ends: at LF, CR LF or CR. A CR at the end of the text may be followed by an LF: it waits. */
function lineEnd(text: string, from: number): { readonly at: number; readonly next: number } | undefined {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\n') return { at, next: at + 1 };
    if (text[at] !== '\r') continue;
    if (at + 1 === text.length) return undefined;
    return { at, next: text[at + 1] === '\n' ? at + 2 : at + 1 };
  }
  return undefined;
}
