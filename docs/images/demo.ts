export async function makeDemo(): Promise<void> {}
