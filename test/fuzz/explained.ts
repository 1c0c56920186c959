/** A finding of the fuzzer that stays, told apart by its code, the status and the message of the reply. */
interface Explained {
  readonly code: string;
  readonly status: number;
  readonly message: RegExp;
  readonly why: string;
}

/** What a JSON Schema cannot say, or what the fuzzer does not know of HTTP. The README of the gateway has the same list. */
export const explained: readonly Explained[] = [
  {
    code: 'ST202',
    status: 422,
    message: /is not a cursor that this list gave$/,
    why: 'cursors are opaque: only one that the same list gave is good',
  },
  {
    code: 'ST202',
    status: 400,
    message: /may not hold the key "__proto__"$/,
    why: 'objects are open, except the one key that sets a prototype',
  },
  {
    code: 'ST202',
    status: 422,
    message: /must be a number that JSON readers can hold$/,
    why: 'a number may have any length in JSON, and none beyond a double can be kept',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.tools\.\d+\.name: .* (is declared twice|is a tool of the server)$/s,
    why: 'the names of tools are unique, which a schema says of whole items alone',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.tools\.\d+\.node_name: the graph has no node /,
    why: 'the nodes are the graph\u2019s, not the interface\u2019s',
  },
  {
    code: 'ST202',
    status: 400,
    message: /^(body\.)?messages: no open tool call has the id /,
    why: 'a tool result answers a call that is open: that depends on the thread',
  },
  {
    code: 'ST202',
    status: 400,
    message: /^(body\.)?resume: answers no (question that the thread has open|open question of the thread)/,
    why: 'an answer needs a question that is open: that depends on the thread',
  },
  {
    code: 'ST202',
    status: 422,
    message: /\.(timestamp|created_from|created_to|updated_from|updated_to): must be an ISO 8601 time/,
    why: 'some times that RFC 3339 allows, as a leap second, are no time to a computer',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body: needs memory_type, category, filters or config\.thread_id/,
    why: 'forgetting everything has to be asked for',
  },
  {
    code: 'ST202',
    status: 422,
    message: /filters/,
    why: 'operators of filters are checked where they are applied',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^query\.stream_modes\.0: must be one of /,
    why: 'in an address an empty list and one of an empty text are the same',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.secret: must be 16 to 256 visible ASCII characters$/,
    why: 'what a secret looks like depends on its format',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.content: must not be empty$/,
    why: 'blanks alone are no content',
  },
  {
    code: 'ST202',
    status: 400,
    message: /^config\.thread_id .* is not the thread of the path/s,
    why: 'a body that contradicts its path makes no sense',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.(state|initial_state)\./s,
    why: 'the fields of the state are the graph\u2019s, which `graph:StateSchema` tells',
  },
  {
    code: 'ST201',
    status: 414,
    message: /^the path and query are longer than/,
    why: 'a refusal that the fuzzer does not count as one',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^header\.Idempotency-Key: was used with another body$/,
    why: 'a key names one request: whether it was used before is in the record',
  },
  {
    code: 'ST202',
    status: 400,
    message: /^Last-Event-ID is not an event of run /,
    why: 'the id of an event begins with the id of its run',
  },
  {
    code: 'ST202',
    status: 416,
    message: /^the range lies outside of the file, which has \d+ bytes$/,
    why: 'a range lies within the file or not: that depends on its size',
  },
  {
    code: 'ST201',
    status: 200,
    message: /^body\.memories\.\d+\.expires_at: must be an ISO 8601 time/,
    why: 'a memory of a batch is refused by itself: the reply that stores the others says why',
  },
  {
    code: 'ST202',
    status: 400,
    message: /^nobody signs in here: there is nobody to share with$/,
    why: 'whether people sign in is for the service to say',
  },
  {
    code: 'ST201',
    status: 202,
    message: /^body\.(runs\.\d+\.)?(messages\.\d+\.timestamp|start_at): must be an ISO 8601 time/,
    why: 'a run of a batch is refused by itself: the reply that accepts the others says why',
  },
  {
    code: 'ST201',
    status: 431,
    message: /^the request line and headers are too large$/,
    why: 'a refusal that the fuzzer does not count as one',
  },
  {
    code: 'ST205',
    status: 405,
    message: /^OPTIONS is not allowed here; DELETE, GET, HEAD, POST, PUT is$/,
    why: 'to these methods `list` and `forget` are ids of memories',
  },
  {
    code: 'ST205',
    status: 405,
    message: /^OPTIONS is not allowed here; DELETE, GET, HEAD, POST is$/,
    why: 'to these methods `upload` is the id of a file',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^body\.file: (is sent as .*, and its bytes are |must not be empty$)/s,
    why: 'whether bytes are of their declared type is for no schema to say',
  },
  {
    code: 'ST202',
    status: 422,
    message: /^query\.timezone: must be the name of a time zone/,
    why: 'which time zones there are is said by the database of the IANA, and by no schema',
  },
  {
    code: 'ST201',
    status: 413,
    message: /^the body is larger than \d+ bytes$/,
    why: 'the bound of a body is in bytes, which a schema does not count',
  },
  {
    code: 'ST108',
    status: 200,
    message: /^$/,
    why: 'the schema of a stream of events is that of a chunk, from which generators make types; the frame around it is stated in words',
  },
  {
    code: 'ST105',
    status: 200,
    message: /^$/,
    why: 'the bytes of a file come with the type that they were sent with; generators make clients of application/octet-stream, and not of any type',
  },
];
