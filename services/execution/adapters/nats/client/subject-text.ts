/** Whether a text may be the id of a run. The service makes all of them, and each is one word of a subject. */
export const isRunId = (id: unknown): id is string => typeof id === 'string' && /^[\w-]{1,256}$/.test(id);

/** The server bounds the line of a message, subjects included, at 4,096 bytes. */
const maxLength = 1024;

const visibleWords = /^[!-\-/-~]+(?:\.[!-\-/-~]+)*$/;

/**
 * Whether a text is a subject: words of visible ASCII between single dots. A line break ends a message of the protocol, and a space ends the
 * subject; the client library checks neither.
 */
export const isSubject = (text: string): boolean => text.length <= maxLength && visibleWords.test(text);
