/**
 * About how many bytes a thread's state has as JSON: some count the commas between the messages, or their ids, and some do not. It
 * bounds what a worker holds in memory and what a step may add; the record counts on its own.
 */
export interface StateSize {
  /** All messages of the context. */
  readonly messages: number;
  /** Each field by its name. */
  readonly fields: Readonly<Record<string, number>>;
}

/** The byte size of all fields together. */
export const bytesOfFields = (fields: StateSize['fields']): number =>
  Object.values(fields).reduce((sum, bytes) => sum + bytes, 0);

/** The byte size of the whole state. */
export const bytesOfState = ({ messages, fields }: StateSize): number => messages + bytesOfFields(fields);
