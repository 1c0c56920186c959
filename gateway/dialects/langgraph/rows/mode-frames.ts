import type { RunEvent } from '@agent-workflow/protos/execution';
import type { StreamExtras } from '../../../http/endpoint.ts';
import { framed, type FramePlace } from '../../common/framed.ts';
import type { Services } from '../../common/services.ts';
import { encodeFrames } from '../frames/frame.ts';
import type { Modes } from '../frames/modes.ts';
import { createRunFrames } from '../frames/run-frames.ts';
import { runRecord } from './run-record.ts';
import type { AboutRun } from './run-request.ts';

interface InModes {
  readonly owner: string;
  readonly agent: string;
  readonly about: AboutRun;
  readonly modes: Modes;
  /** How the ids of this stream are made; streams of one `name` make them alike. */
  readonly ids: { readonly name: string; readonly idOf: (event: RunEvent) => string };
  /** Where it begins, behind the events that its reader has whole. */
  readonly place?: FramePlace | undefined;
  /** Frames behind the last one of an event. */
  readonly more?: (event: RunEvent) => Parameters<typeof encodeFrames>[0];
}

/** The frames of a run in the modes that a stream asks for. */
export const inModes = ({ owner, agent, about, modes, ids, place, more }: InModes, services: Services): StreamExtras =>
  framed({
    name: `${ids.name} ${[...modes].toSorted().join(' ')}`,
    place,
    begin: (scope, call) => {
      const record = runRecord({ owner, agent, call, runId: scope.runId, threadId: scope.threadId }, services);
      const toFrames = createRunFrames({ modes, scope, graphId: agent, about, record });
      if (!more) return toFrames;
      return async (event) => [...(await toFrames(event)), ...more(event)];
    },
    encode: (frames, event, skipped) => encodeFrames(frames, ids.idOf(event), skipped),
  });
