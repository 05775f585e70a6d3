export async function POST(request) {
  const { question } = await request.json()
  return Response.json({ answer: `You asked: ${question} Weigh it: 18 g in, 36 g out.` })
}
