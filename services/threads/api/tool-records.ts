import type { NoteToolStartedReply, ToolRecordCalls } from '@agent-workflow/protos/threads';
import { decideToolResult, decideToolStarted } from '../runs/tool-calls.ts';
import type { Changing } from './changing.ts';
import { keyOf } from './found.ts';

export const createToolRecordCalls = ({ change, changeOnRequest }: Changing): ToolRecordCalls => ({
  noteToolStarted: async (request) => {
    const { runId, callKey } = request;
    const reads = { toolCall: { runId, callKey } };
    // Only the first call gets `isNew`. Every later one is decided again, and gets how far the tool call came.
    const toKept = ({ isNew }: NoteToolStartedReply): { isNew: boolean } | undefined => (isNew ? { isNew } : undefined);
    const outcome = await changeOnRequest(
      { key: keyOf(request), reads, method: 'noteToolStarted', request, toKept },
      (snapshot) => decideToolStarted(request, snapshot),
    );
    return 'made' in outcome ? outcome.made : outcome.kept;
  },

  noteToolResult: (request) => change(keyOf(request), {}, (snapshot) => decideToolResult(request, snapshot)),
});
