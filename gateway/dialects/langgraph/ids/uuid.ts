const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is a UUID, as all ids of LangGraph Server are. Those that other dialects gave need not be. */
export const isUuid = (text: string): boolean => uuid.test(text);

/** What a reply says of an id that is none. */
export const noUuid = (kind: 'thread' | 'assistant' | 'run' | 'cron'): string => `Invalid ${kind} ID: must be a UUID`;
