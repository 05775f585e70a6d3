/**
 * Ends the browsers of a worker that is interrupted: they are in groups of their own, which a signal to that of the terminal does
 * not reach, and a process that dies of a signal emits no `exit`.
 */
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // Each file of a worker runs this.
  if (process.listenerCount(signal) > 0) continue
  process.once(signal, () => {
    // What Playwright and webkit/webdriver.ts have started ends by this.
    process.emit('exit', 1)
    process.kill(process.pid, signal)
  })
}
