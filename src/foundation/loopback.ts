/**
 * Whether a host name or address is loopback: `localhost` and names below it, 127.0.0.0/8, `::1` with and
 * without brackets. Upper and lower case are equal; a port is not part of a host.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '')
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '[::1]') return true
  return /^127(?:\.\d{1,3}){3}$/.test(name)
}
