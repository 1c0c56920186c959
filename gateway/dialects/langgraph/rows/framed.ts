import type { Call } from '@agent-workflow/protos/call';
import type { RunEvents } from '@agent-workflow/protos/execution';
import type { StreamExtras } from '../../../http/endpoint.ts';
import type { StreamEvent, StreamEvents } from '../../../http/framing.ts';
import type { Services } from '../../common/services.ts';
import { encodeFrames, idOf } from '../frames/frame.ts';
import type { Modes } from '../frames/modes.ts';
import { createRunFrames } from '../frames/run-frames.ts';
import { assistantIdOf } from '../ids/assistant-id.ts';
import { runRecord } from './run-record.ts';

/** After so many bytes what was made of a run is given to its readers. */
const partBytes = 256 * 1024;

interface Framed {
  readonly owner: string;
  readonly agent: string;
  readonly modes: Modes;
}

/** The frames of a run in place of its events. */
export const framed = (framing: Framed, services: Services): StreamExtras => ({
  name: [...framing.modes].toSorted().join(' '),
  add: (open, after, call) => frame(framing, services, { source: open(0), after, call }),
});

interface Source {
  /** From the first event: what a frame holds depends on those before it. */
  readonly source: AsyncIterable<RunEvents>;
  /** The number of the last event that the reader has. */
  readonly after: number;
  readonly call: Call;
}

async function* frame(
  { owner, agent, modes }: Framed,
  services: Services,
  { source, after, call }: Source,
): AsyncGenerator<StreamEvents> {
  let toFrames: ReturnType<typeof createRunFrames> | undefined;
  for await (const { events, scope } of source) {
    if (scope) {
      const record = runRecord({ owner, call, runId: scope.runId, threadId: scope.threadId }, services);
      toFrames = createRunFrames({ modes, scope, graphId: agent, assistantId: assistantIdOf(agent), record });
    }
    let part: StreamEvent[] = [];
    let bytes = 0;
    let first = scope && { scope };
    for (const event of events) {
      const frames = (await toFrames?.(event)) ?? [];
      if (event.seq <= after || frames.length === 0) continue;
      const written = encodeFrames(frames, idOf(event));
      part.push({ seq: event.seq, kind: event.kind, at: event.at, data: nothing, written });
      bytes += written.reduce((sum, { byteLength }) => sum + byteLength, 0);
      if (bytes < partBytes) continue;
      yield { events: part, ...first };
      part = [];
      bytes = 0;
      first = undefined;
    }
    if (part.length > 0 || first) yield { events: part, ...first };
  }
}

const nothing = new Uint8Array();
