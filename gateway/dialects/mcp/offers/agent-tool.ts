import { maxIdLength } from '@agent-workflow/protos/message';
import { fieldSchema } from '../../common/field-schema.ts';
import { fieldsOf, type Fields } from '../wire/fields.ts';
import type { OfferedTool } from './offered.ts';

interface Described {
  readonly name: string;
  readonly description: string | undefined;
  /** The fields of its state. */
  readonly fields: Fields;
}

const id = { type: 'string', maxLength: maxIdLength };

/** An agent as one tool: it takes a message, and the fields of its state. */
export function agentTool({ name, description, fields }: Described): OfferedTool {
  const { context: _context, context_summary: _summary, ...shown } = fields;
  const own = Object.entries(shown).filter(([, spec]) => fieldsOf(spec)['callers'] !== 'read');
  const state = {
    type: 'object',
    description: 'Fields of the state of the agent',
    properties: Object.fromEntries(own.map(([field, spec]) => [field, fieldSchema(fieldsOf(spec))])),
  };
  return {
    ...{ agent: name, name, isAgent: true, needs: [], task: true, inputFirst: false },
    shown: {
      name,
      description: description ?? `Asks the agent "${name}"`,
      inputSchema: {
        type: 'object',
        properties: {
          message: { type: 'string', description: 'What the agent is asked' },
          thread_id: { ...id, description: 'Goes on in this thread, as an earlier result named it' },
          assistant_id: { ...id, description: 'Asks the agent with the settings of this assistant' },
          ...(own.length > 0 && { state }),
        },
        required: ['message'],
        additionalProperties: false,
      },
      outputSchema: {
        type: 'object',
        properties: {
          text: { type: 'string', description: 'What the agent answers' },
          thread_id: { type: 'string' },
          run_id: { type: 'string' },
          state: { type: 'object', description: 'The state of the agent' },
        },
        required: ['text', 'thread_id', 'run_id'],
      },
    },
  };
}
