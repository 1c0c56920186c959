import { useEffect, useState } from 'preact/hooks';
import { serviceNow } from '../../session/clock.ts';

const tickMs = 500;

/** The time of the service, in milliseconds since 1970. It moves on by itself while `isMoving`. */
export function useNow(isMoving: boolean): number {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!isMoving) return undefined;
    const timer = setInterval(() => tick((count) => count + 1), tickMs);
    return () => clearInterval(timer);
  }, [isMoving]);
  return serviceNow();
}
