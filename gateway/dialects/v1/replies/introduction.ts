/** What the OpenAPI document says before its operations. */
export const introduction = `Runs an agent workflow durably and keeps the threads, messages, runs and memories around it.

**Replies.** A success is \`{data, metadata}\`. A refusal is \`{error: {code, message, details}, metadata}\`; \`code\` is stable, and
\`x-error-codes\` of this document says when each comes. Times are ISO 8601 in UTC.

**Requests.** Bodies are JSON objects in UTF-8, at most 4 MiB (\`MAX_BODY_BYTES\`), except files, which are uploaded as forms. Fields that are not listed are ignored, query parameters that are not listed are refused. \`null\` for
an optional field counts as its absence. Objects in a query (\`config\`, \`options\`) are URL-encoded JSON.

**Headers of requests.** \`Authorization: Bearer …\` where callers must authenticate. \`X-Request-Id\` names the request in replies and logs
when it is 1 to 128 visible ASCII characters. \`traceparent\` continues a trace. \`Idempotency-Key\` makes a change safe to repeat.

**Streams.** \`x-events\` of this document describes each kind of event.`;

/** What the operations of each tag are about, in the order in which they are shown. */
export const tags: Readonly<Record<string, string>> = {
  graph: 'The agent: what it is made of, and runs of it',
  runs: 'Runs on record: follow, wait for, stop them',
  threads: 'Conversations with their state and checkpoints',
  messages: 'The messages of a thread',
  memories: 'What is remembered across threads',
  files: 'What callers upload, for messages to name: images, sounds, documents',
  health: 'Whether the service answers, and this document',
};
