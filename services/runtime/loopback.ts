const loopback = /^(127\.\d+\.\d+\.\d+|::1|localhost)$/;

/** Whether a port at this address is reached from this machine alone. */
export const isLoopback = (host: string): boolean => loopback.test(host);
