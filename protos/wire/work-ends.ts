/** Calls back when the work of a call has ended in the service itself: the deadline of its caller may pass long before. */
interface WorkEnds {
  /** The same service, whose calls {@link during} can follow. */
  readonly watch: (service: object) => object;
  /**
   * Makes a call of a watched service with this request, in the same turn of the event loop. Calls `onEnd` once: when the work has ended,
   * or at once where none began.
   */
  readonly during: <T>(request: object, onEnd: () => void, call: () => T) => T;
}

type AnyMethod = (request: object, ...rest: readonly unknown[]) => unknown;

export function createWorkEnds(): WorkEnds {
  const expected = new WeakMap<object, () => void>();

  const watched =
    (method: AnyMethod): AnyMethod =>
    (request, ...rest) => {
      const onEnd = expected.get(request);
      if (!onEnd) return method(request, ...rest);
      expected.delete(request);
      try {
        const work = method(request, ...rest);
        if (work instanceof Promise) work.then(onEnd, onEnd);
        else onEnd();
        return work;
      } catch (error) {
        onEnd();
        throw error;
      }
    };

  return {
    watch: (service) =>
      Object.fromEntries(Object.entries(service).map(([name, method]: [string, AnyMethod]) => [name, watched(method)])),
    during: (request, onEnd, call) => {
      expected.set(request, onEnd);
      try {
        return call();
      } finally {
        if (expected.delete(request)) onEnd();
      }
    },
  };
}
