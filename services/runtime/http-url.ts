import { hostPort } from '@agent-workflow/kit/host-port';

/** The URL of a host and a port. */
export const httpUrl = (host: string, port: number): string => `http://${hostPort(host, port)}`;
