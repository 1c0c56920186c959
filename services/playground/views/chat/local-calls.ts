import { answerCall, type Block, type RemoteCall, type ToolDeclaration } from '@agent-workflow/client';
import { signal, type ReadonlySignal } from '@preact/signals';
import { browserTools } from './browser-tools.ts';
import { toolsOn } from './tool-consent.ts';

/** A call of a tool of this browser, while it is made and after. */
interface LocalCall {
  readonly call: RemoteCall;
  readonly status: 'running' | 'done' | 'failed';
}

/** The calls that this browser makes or has made, while the page is open. */
export interface LocalCalls {
  readonly all: ReadonlySignal<readonly LocalCall[]>;
  /** Makes those of the calls whose tools this browser has under one of these names. @returns what they gave; empty where it has none */
  readonly make: (calls: readonly RemoteCall[], names: ReadonlySet<string>) => Promise<readonly Block[]>;
  readonly clear: () => void;
}

/** @param signal ends the calls that are under way */
export function createLocalCalls(ended: AbortSignal): LocalCalls {
  const all = signal<readonly LocalCall[]>([]);
  const note = (call: RemoteCall, status: LocalCall['status']): void => {
    all.value = [...all.peek().filter((each) => each.call.id !== call.id), { call, status }];
  };
  return {
    all,
    make: (calls, names) =>
      Promise.all(
        calls.flatMap((call) => {
          const tool = browserTools.find(({ name }) => name === call.name && names.has(name));
          if (!tool) return [];
          note(call, 'running');
          return answerCall(call, tool, ended).then((block) => {
            note(call, block['is_error'] === true ? 'failed' : 'done');
            return block;
          });
        }),
      ),
    clear: () => {
      all.value = [];
    },
  };
}

/** The names of all tools that this browser has. */
export const ownTools: ReadonlySet<string> = new Set(browserTools.map(({ name }) => name));

/** The tools that the reader has switched on, as a run declares them. */
export function declaredTools(): { readonly tools?: readonly ToolDeclaration[] } {
  const tools = browserTools
    .filter(({ name }) => toolsOn.peek().has(name))
    .map(({ name, description, parameters }) => ({ name, description, parameters }) as ToolDeclaration);
  return tools.length === 0 ? {} : { tools };
}
