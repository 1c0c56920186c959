/** A server that many use: its tools by name, each with the schema of its arguments. The shapes are written by hand from the public documents. */
interface KnownServer {
  readonly source: string;
  readonly tools: Readonly<Record<string, object>>;
  /** Why a tool is set aside, by its name; the others work. */
  readonly setAside?: Readonly<Record<string, RegExp>>;
}

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const number = { type: 'number' };
const flag = { type: 'boolean' };
const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' };
const today = { $schema: 'https://json-schema.org/draft/2020-12/schema' };

const closed = (properties: object, required: readonly string[] = [], rest: object = {}): object => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
  additionalProperties: false,
  ...rest,
});
const open = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});

const richText = {
  type: 'object',
  required: ['text'],
  properties: {
    text: {
      type: 'object',
      properties: {
        content: { type: 'string', maxLength: 2000 },
        link: { type: ['object', 'null'], properties: { url: { type: 'string', format: 'uri' } } },
      },
    },
    type: { enum: ['text'] },
  },
};

export const knownServers: Readonly<Record<string, KnownServer>> = {
  filesystem: {
    source: 'github.com/modelcontextprotocol/servers, src/filesystem',
    tools: {
      read_text_file: closed({ path: text, tail: number, head: number }, ['path'], draft7),
      read_multiple_files: closed({ paths: { ...texts, minItems: 1 } }, ['paths'], draft7),
      edit_file: closed(
        {
          path: text,
          edits: { type: 'array', items: closed({ oldText: text, newText: text }, ['oldText', 'newText']) },
          dryRun: { ...flag, default: false },
        },
        ['path', 'edits'],
        draft7,
      ),
      search_files: closed(
        { path: text, pattern: text, excludePatterns: { ...texts, default: [] } },
        ['path', 'pattern'],
        draft7,
      ),
      list_allowed_directories: { type: 'object', properties: {}, required: [] },
    },
  },
  github: {
    source: 'github.com/github/github-mcp-server, pkg/github/__toolsnaps__',
    tools: {
      list_issues: open(
        {
          owner: text,
          repo: text,
          state: { type: 'string', enum: ['OPEN', 'CLOSED'] },
          labels: texts,
          perPage: { ...number, minimum: 1, maximum: 100 },
          after: text,
        },
        ['owner', 'repo'],
      ),
      push_files: open(
        {
          owner: text,
          repo: text,
          branch: text,
          message: text,
          files: { type: 'array', items: closed({ path: text, content: text }, ['path', 'content']) },
        },
        ['owner', 'repo', 'branch', 'files', 'message'],
      ),
      pull_request_read: open(
        {
          method: { type: 'string', enum: ['get', 'get_diff', 'get_status'] },
          owner: text,
          repo: text,
          pullNumber: number,
        },
        ['method', 'owner', 'repo', 'pullNumber'],
      ),
      get_me: { type: 'object' },
    },
  },
  playwright: {
    source: 'github.com/microsoft/playwright-mcp, README and tests',
    tools: {
      browser_click: closed(
        {
          element: text,
          ref: text,
          doubleClick: flag,
          button: { type: 'string', enum: ['left', 'right', 'middle'] },
          modifiers: { type: 'array', items: { type: 'string', enum: ['Alt', 'Control', 'Shift'] } },
        },
        ['ref'],
        today,
      ),
      browser_fill_form: closed(
        {
          fields: {
            type: 'array',
            items: closed(
              { name: text, type: { type: 'string', enum: ['textbox', 'checkbox'] }, ref: text, value: text },
              ['name', 'type', 'ref', 'value'],
            ),
          },
        },
        ['fields'],
        today,
      ),
      browser_resize: closed({ width: number, height: number }, ['width', 'height'], today),
      browser_close: closed({}, [], today),
    },
  },
  slack: {
    source: 'github.com/modelcontextprotocol/servers-archived, src/slack',
    tools: {
      slack_list_channels: open({ limit: { ...number, default: 100 }, cursor: text }),
      slack_reply_to_thread: open(
        { channel_id: text, thread_ts: { type: 'string', description: "in the format '1234567890.123456'" }, text },
        ['channel_id', 'thread_ts', 'text'],
      ),
      'slack.users/profile': open({ user_id: text }, ['user_id']),
    },
  },
  postgres: {
    source:
      'github.com/modelcontextprotocol/servers-archived, src/postgres; github.com/crystaldba/postgres-mcp (pydantic)',
    tools: {
      query: open({ sql: text }),
      explain_query: {
        type: 'object',
        title: 'explain_queryArguments',
        properties: {
          sql: { title: 'Sql', type: 'string' },
          analyze: { default: false, title: 'Analyze', type: 'boolean' },
          hypothetical_indexes: {
            anyOf: [{ items: { additionalProperties: true, type: 'object' }, type: 'array' }, { type: 'null' }],
            default: null,
            title: 'Hypothetical Indexes',
          },
        },
        required: ['sql'],
      },
    },
  },
  chromeDevtools: {
    source: 'github.com/ChromeDevTools/chrome-devtools-mcp, docs/tool-reference.md',
    tools: {
      take_screenshot: closed(
        {
          format: { type: 'string', enum: ['png', 'jpeg', 'webp'], default: 'png' },
          quality: { type: 'number', minimum: 0, maximum: 100 },
          uid: text,
          fullPage: flag,
        },
        [],
        draft7,
      ),
      evaluate_script: closed(
        { function: text, args: { type: 'array', items: closed({ uid: text }, ['uid']) } },
        ['function'],
        draft7,
      ),
      emulate: closed(
        {
          cpuThrottlingRate: { type: 'number', minimum: 1, maximum: 20 },
          geolocation: {
            anyOf: [
              closed({ latitude: { type: 'number', minimum: -90, maximum: 90 } }, ['latitude']),
              { type: 'null' },
            ],
          },
        },
        [],
        draft7,
      ),
    },
  },
  notion: {
    source: 'github.com/makenotion/notion-mcp-server, scripts/notion-openapi.json and issues #249, #207',
    tools: {
      'API-post-page': {
        $defs: {
          richText,
          blockObjectRequest: {
            anyOf: [{ $ref: '#/$defs/paragraph' }, { type: 'object', additionalProperties: true }],
          },
          paragraph: {
            type: 'object',
            required: ['paragraph'],
            properties: {
              paragraph: {
                type: 'object',
                properties: {
                  rich_text: { type: 'array', items: { $ref: '#/$defs/richText' }, maxItems: 100 },
                  children: { type: 'array', items: { $ref: '#/$defs/blockObjectRequest' } },
                },
              },
            },
          },
        },
        type: 'object',
        properties: {
          parent: {
            oneOf: [
              { type: 'object', properties: { page_id: { type: 'string', format: 'uuid' } }, required: ['page_id'] },
              {
                type: 'object',
                properties: { database_id: { type: 'string', format: 'uuid' } },
                required: ['database_id'],
              },
            ],
          },
          properties: { type: 'object', additionalProperties: true },
          children: { type: 'array', items: { $ref: '#/$defs/blockObjectRequest' } },
          icon: { type: 'string', format: 'json' },
        },
        required: ['parent', 'properties'],
      },
      'API-get-user': {
        $defs: {},
        type: 'object',
        properties: { user_id: { type: 'string', format: 'uuid', example: null } },
        required: ['user_id'],
      },
      'API-patch-block-children': {
        type: 'object',
        properties: { children: { type: 'array', items: { $ref: '#/components/schemas/blockObjectRequest' } } },
        required: ['children'],
      },
    },
    // Of the releases before the references were moved into the schema.
    setAside: {
      'API-patch-block-children': /^the reference "#\/components\/schemas\/blockObjectRequest" leads to nothing$/,
    },
  },
  sentry: {
    source: 'github.com/getsentry/sentry-mcp, packages/mcp-server (zod)',
    tools: {
      search_issues: closed(
        {
          organizationSlug: { type: 'string', pattern: '^[a-z0-9](?:[a-z0-9\\-_]*[a-z0-9])?$' },
          naturalLanguageQuery: { type: 'string', minLength: 1 },
          regionUrl: { anyOf: [{ type: 'string', format: 'uri' }, { type: 'null' }], default: null },
          limit: { type: 'integer', exclusiveMinimum: 0, maximum: 100, default: 10 },
        },
        ['organizationSlug', 'naturalLanguageQuery'],
        draft7,
      ),
      update_issue: closed(
        {
          issueUrl: { type: 'string', pattern: '^https?:\\/\\/[^\\s/]+\\/.*$' },
          status: { type: 'string', enum: ['resolved', 'ignored'] },
          assignedTo: { nullable: true, type: 'string' },
        },
        [],
        draft7,
      ),
    },
  },
  stripe: {
    source: 'docs.stripe.com/mcp; github.com/stripe/agent-toolkit (zod)',
    tools: {
      create_customer: closed(
        {
          name: text,
          email: {
            type: 'string',
            format: 'email',
            pattern:
              "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
          },
        },
        ['name'],
        draft7,
      ),
      create_price: closed(
        {
          product: text,
          unit_amount: { type: 'integer', minimum: 0 },
          currency: text,
          recurring: closed(
            { interval: { type: 'string', enum: ['day', 'month'] }, interval_count: { type: 'integer' } },
            ['interval'],
          ),
        },
        ['product', 'unit_amount', 'currency'],
        draft7,
      ),
      list_invoices: closed({ customer: text, limit: { type: 'integer', minimum: 1, maximum: 100 } }, [], draft7),
    },
  },
  atlassian: {
    source: 'github.com/sooperset/mcp-atlassian (FastMCP, pydantic)',
    tools: {
      jira_create_issue: {
        type: 'object',
        properties: {
          project_key: { type: 'string', pattern: '^[A-Z][A-Z0-9_]+$' },
          summary: text,
          assignee: { anyOf: [text, { type: 'null' }], default: null },
          additional_fields: {
            anyOf: [{ type: 'object', additionalProperties: true }, text, { type: 'null' }],
            default: null,
          },
        },
        required: ['project_key', 'summary'],
      },
      confluence_search: {
        type: 'object',
        properties: {
          query: text,
          limit: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
          spaces_filter: { anyOf: [text, { type: 'null' }], default: null },
        },
        required: ['query'],
      },
    },
  },
  context7: {
    source: 'github.com/upstash/context7, README',
    tools: {
      'resolve-library-id': closed({ libraryName: text, query: text }, ['libraryName'], draft7),
      'get-library-docs': closed(
        {
          context7CompatibleLibraryID: text,
          topic: text,
          tokens: { type: 'number', minimum: 1000 },
          page: { type: 'integer', minimum: 1, maximum: 10 },
        },
        ['context7CompatibleLibraryID'],
        draft7,
      ),
    },
  },
};
